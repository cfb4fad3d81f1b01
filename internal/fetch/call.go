package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

// The policy of calls that are not streams (protocol §9.7).
const (
	callTimeout = 30 * time.Second // per attempt
	callRetries = 3
	retryBase   = 200 * time.Millisecond
	retryCap    = 10 * time.Second
	// Each delay is multiplied by a random factor from minJitter to 1.
	minJitter = 0.5
)

// Call does one call of the service's HTTP APIs in up to four attempts of at most 30 s
// each (protocol §9.7). A request that failed on the network is repeated, unless it is to be
// executed Once and a reply had begun; one that got no reply in time only if it is Repeatable;
// one whose reply was 429, 502, 503 or 504 only if it is, or its method is GET or HEAD. The
// wait is the back-off, but at least a random time between the reply's Retry-After and twice
// that, so that clients refused together don't return in the same second. A Retry-After of
// more than 10 s ends the call; the error contains the header.
//
// The reply's JSON is decoded into out, which may be nil; a *Raw gets the body unchanged.
// The error is always a *fault.Error: by the status map of §9.7, the error inside a
// reply with a 2xx status (service.md "Refusals with HTTP 200" rule 4), server_error for
// a 2xx reply without the body that out needs, invalid_response for a body that can't be
// decoded, response_too_large above 10 MiB; timeout or aborted when an attempt or ctx
// ended.
func Call(ctx context.Context, c Client, r *Request, out any) error {
	for attempt := 0; ; attempt++ {
		f := exchange(ctx, c, r, out)
		if f == nil {
			return nil
		}
		asked := retryAfter(f.Headers["retry-after"], time.Now())
		if attempt == callRetries || !repeatable(r, f) || asked > retryCap {
			return f
		}
		select {
		case <-time.After(retryDelay(attempt, asked)):
		case <-ctx.Done():
			return ended(ctx.Err(), r)
		}
	}
}

// Raw is an out argument of Call that receives the reply's body undecoded.
type Raw []byte

// Attempt is Call with one attempt only, for requests whose effect must not happen
// twice, or whose caller does its own retries.
func Attempt(ctx context.Context, c Client, r *Request, out any) error {
	if f := exchange(ctx, c, r, out); f != nil {
		return f
	}
	return nil
}

func exchange(ctx context.Context, c Client, r *Request, out any) *fault.Error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := c.Do(ctx, r)
	if err != nil {
		return ended(err, r)
	}
	if !resp.OK() {
		return Refusal(resp, r)
	}
	data, err := ReadAll(resp, 0)
	if err != nil {
		return ended(err, r)
	}
	_, path := r.place()
	if f := fault.FromBody(resp.Status, data); f != nil {
		return f.At(path).WithHeaders(resp.Header)
	}
	if raw, ok := out.(*Raw); ok {
		*raw = data
		return nil
	}
	if out == nil {
		return nil
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return fault.New(fault.ServerError, "the reply has no body").WithStatus(resp.Status).At(path).WithHeaders(resp.Header)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fault.New(fault.InvalidResponse, "").WithStatus(resp.Status).At(path).WithHeaders(resp.Header).Wrap(err)
	}
	return nil
}

// Refusal reads and closes a reply whose status is not a 2xx and returns it as an
// error.
func Refusal(resp *Response, r *Request) *fault.Error {
	_, path := r.place()
	data, err := ReadAll(resp, 0)
	// A body that breaks off or is too long does not matter, because the status is known.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return ended(err, r)
	}
	return fault.FromStatus(resp.Status, data, resp.Header).At(path)
}

// ended turns an error of Do or of a body into a fault with the path of r.
func ended(err error, r *Request) *fault.Error {
	f := fault.From(err)
	if f.Instance == "" {
		_, path := r.place()
		f.At(path)
	}
	return f
}

func repeatable(r *Request, f *fault.Error) bool {
	switch f.Status {
	case 0:
		return f.Code == fault.NetworkError && (f.Retryable || !r.Once) || f.Code == fault.Timeout && r.Repeatable
	case 429, 502, 503, 504:
		return r.Method == "GET" || r.Method == "HEAD" || r.Repeatable
	}
	return false
}

// retryDelay returns how long to wait after the given attempt, counted from 0. asked is the
// server's Retry-After.
func retryDelay(attempt int, asked time.Duration) time.Duration {
	delay := min(retryBase<<attempt, retryCap)
	wait := time.Duration(float64(delay) * (minJitter + (1-minJitter)*rand.Float64()))
	return max(wait, asked+time.Duration(float64(asked)*rand.Float64()))
}
