//go:build js && wasm

package main

import (
	"context"
	"errors"
	"syscall/js"

	"github.com/agentruntime/agentruntime/internal/jsbridge"
	"github.com/agentruntime/agentruntime/runtime/avatar"
	"github.com/agentruntime/agentruntime/runtime/converse"
)

// The functions of the page that a session calls. What is not given is nil in
// Go, so that the session does without.

var errRefused = errors.New("the application refused")

func given(fn js.Value) bool { return !fn.IsUndefined() && !fn.IsNull() }

// consult calls fn and waits for what it promises.
func consult(ctx context.Context, fn js.Value, args ...any) (js.Value, error) {
	result, err := invoke(fn, args...)
	if err != nil {
		return result, err
	}
	return jsbridge.Await(ctx, result)
}

// invoke calls fn with converted arguments.
func invoke(fn js.Value, args ...any) (js.Value, error) {
	values := make([]any, len(args))
	for i, a := range args {
		v, err := jsbridge.ToJS(a)
		if err != nil {
			return js.Undefined(), err
		}
		values[i] = v
	}
	return jsbridge.Invoke(fn, values...)
}

// beforeSend is option 37: false or an exception refuses, a string replaces.
func beforeSend(fn js.Value) func(context.Context, string, avatar.SendInfo) (string, error) {
	if !given(fn) {
		return nil
	}
	return func(ctx context.Context, text string, about avatar.SendInfo) (string, error) {
		verdict, err := consult(ctx, fn, text, about)
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
	if !given(fn) {
		return nil
	}
	return func(ctx context.Context, action avatar.AgentAction) error {
		verdict, err := consult(ctx, fn, action)
		if err == nil && verdict.Equal(js.ValueOf(false)) {
			return errRefused
		}
		return err
	}
}

// onAuditEvent is option 42. What it throws is its own business.
func onAuditEvent(fn js.Value) func(avatar.AuditEvent) {
	if !given(fn) {
		return nil
	}
	return func(e avatar.AuditEvent) { _, _ = invoke(fn, e) }
}

// logger is option 50. What it throws is its own business.
func logger(fn js.Value) func(level, message string, data map[string]any) {
	if !given(fn) {
		return nil
	}
	return func(level, message string, data map[string]any) { _, _ = invoke(fn, level, message, data) }
}

// addToolHandler registers fn for a tool, under a number of the page's choice.
func (a *avatarSession) addToolHandler(c call) (any, error) {
	var (
		id     int
		name   string
		schema converse.ArgsSchema
	)
	if err := c.into("handler", 0, &id); err != nil {
		return nil, err
	}
	if err := c.into("name", 1, &name); err != nil {
		return nil, err
	}
	if err := c.into("argsSchema", 3, &schema); err != nil {
		return nil, err
	}
	fn := c.at(2)
	remove, err := a.OnToolCall(name, func(_ context.Context, call avatar.ToolCall) (any, error) {
		return handled(consult(a.ctx, fn, call))
	}, schema)
	if err == nil {
		a.handlers[id] = remove
	}
	return nil, err
}

// addConsentHandler registers fn for requests of the visitor's consent.
func (a *avatarSession) addConsentHandler(c call) (any, error) {
	var id int
	if err := c.into("handler", 0, &id); err != nil {
		return nil, err
	}
	fn := c.at(1)
	remove, err := a.OnOAuthRequired(func(_ context.Context, ask avatar.OAuthRequired) (any, error) {
		return handled(consult(a.ctx, fn, ask))
	})
	if err == nil {
		a.handlers[id] = remove
	}
	return nil, err
}

func (a *avatarSession) removeHandler(c call) (any, error) {
	var id int
	if err := c.into("handler", 0, &id); err != nil {
		return nil, err
	}
	if remove := a.handlers[id]; remove != nil {
		delete(a.handlers, id)
		remove()
	}
	return nil, nil
}

// handled is what a handler returned; undefined is nothing to report.
func handled(v js.Value, err error) (any, error) {
	if err != nil || v.IsUndefined() {
		return nil, err
	}
	return v, nil
}
