package session

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// tokenLimit bounds one call of the application's function for a new token.
const tokenLimit = 10 * time.Second

// Tokens asks the application for a new token when the service refuses the present one, and
// before that expires, if its life is known. All methods but Fresh must be called on the queue.
type Tokens struct {
	core *Core

	// Since is when the session got its token; a switch of an agent session's transport does not change it.
	Since time.Time

	ahead *Timer     // of the watch, nil without one
	call  *tokenCall // under way, nil without one
}

// tokenCall is a call of the application's function.
type tokenCall struct{ waiting []func(error) }

// Watch asks for the next token when a fifth of the present one's life is left.
func (t *Tokens) Watch() {
	life := t.core.opts.TokenLife
	if t.core.opts.OnTokenNeeded == nil || life <= 0 {
		return
	}
	t.ahead.Stop()
	t.ahead = t.core.After(life-life/5-time.Since(t.Since), func() {
		watch := t.ahead
		t.Renew(func(err error) {
			if err != nil && t.ahead == watch { // there is time for one more call
				t.ahead = t.core.After(life/20, func() { t.Renew(func(error) {}) })
			}
		})
	})
}

// Stop ends the watch, and ignores the result of the call under way, which [Core.Die] ends.
func (t *Tokens) Stop() {
	t.ahead.Stop()
	t.ahead, t.call = nil, nil
}

// Renew asks for a new token and calls done on the queue. While a request is under way,
// further calls wait for its result. The end of the conversation ends it with an error.
func (t *Tokens) Renew(done func(error)) {
	if t.call != nil {
		t.call.waiting = append(t.call.waiting, done)
		return
	}
	call, old, life := &tokenCall{[]func(error){done}}, t.core.Token, t.core.Life
	t.call = call
	t.core.Spawn(func() {
		token, err := AskToken(life, t.core.opts.OnTokenNeeded)
		t.core.Work.Post(func() { t.renewed(call, old, token, err) })
	})
}

// Source returns a function that asks for a token without keeping it, for a request at the end
// of a session; nil when the application has none.
func (t *Tokens) Source() func(context.Context) (string, error) {
	if t.core.opts.OnTokenNeeded == nil {
		return nil
	}
	return func(ctx context.Context) (string, error) {
		token, err := AskToken(ctx, t.core.opts.OnTokenNeeded)
		if err == nil {
			t.core.Secrets.Add(token)
		}
		return token, err
	}
}

// AskToken calls the application's function for a token.
func AskToken(ctx context.Context, need func(context.Context) (string, error)) (string, error) {
	token, err := Within(ctx, tokenLimit, need)
	if err == nil && token == "" {
		err = fault.New(fault.BadRequest, "onTokenNeeded must return a token")
	}
	return token, err
}

func (t *Tokens) renewed(call *tokenCall, old, token string, err error) {
	if t.call == call { // else its conversation has ended
		t.call = nil
		if err == nil && t.core.Token == old { // else SetToken gave a newer one
			t.core.Secrets.Add(token)
			t.core.kind.SetToken(token)
			t.core.Audit("token.refresh", "accepted", "onTokenNeeded")
		}
		if err != nil {
			t.core.Log("warn", "onTokenNeeded failed: "+err.Error(), nil)
		}
	}
	for _, done := range call.waiting {
		done(err)
	}
}

// Fresh returns a token to use in place of refused, which the service did not accept. It must
// not be called from the queue. The error is unauthorized, or that of the end of ctx.
func (t *Tokens) Fresh(ctx context.Context, refused string) (string, error) {
	if t.core.opts.OnTokenNeeded == nil {
		return "", fault.New(fault.Unauthorized, "the service refused the token")
	}
	result := make(chan error, 1)
	var token string
	t.core.Work.Post(func() {
		if token = t.core.Token; token != refused {
			result <- nil
			return
		}
		t.Renew(func(err error) {
			token = t.core.Token
			result <- err
		})
	})
	select {
	case err := <-result:
		if err != nil || token == "" {
			return "", fault.New(fault.Unauthorized, "the service refused the token, and there is no new one").Wrap(err)
		}
		return token, nil
	case <-ctx.Done():
		return "", EndOf(ctx)
	}
}
