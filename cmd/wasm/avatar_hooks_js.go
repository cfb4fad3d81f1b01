//go:build js && wasm

package main

import (
	"context"
	"errors"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/internal/page"
	"github.com/agentruntime/agentruntime/runtime/avatar"
)

var errRefused = errors.New("the application refused")

// beforeSend is option 37: false or an exception refuses, a string replaces.
func beforeSend(fn js.Value) func(context.Context, string, avatar.SendInfo) (string, error) {
	if !page.Given(fn) {
		return nil
	}
	return func(ctx context.Context, text string, about avatar.SendInfo) (string, error) {
		verdict, err := page.Consult(ctx, fn, text, about)
		switch {
		case err != nil:
			return "", err
		case verdict.Equal(js.ValueOf(false)):
			return "", errRefused
		}
		changed := text
		if jsbridge.FromJS("onBeforeSend's result", verdict, &changed) != nil {
			return text, nil // neither a string nor false changes nothing
		}
		return changed, nil
	}
}

// onAgentAction is option 38: false or an exception is the veto.
func onAgentAction(fn js.Value) func(context.Context, avatar.AgentAction) error {
	if !page.Given(fn) {
		return nil
	}
	return func(ctx context.Context, action avatar.AgentAction) error {
		verdict, err := page.Consult(ctx, fn, action)
		if err == nil && verdict.Equal(js.ValueOf(false)) {
			return errRefused
		}
		return err
	}
}
