// Package agentruntime is the module k6/x/agentruntime of k6: sessions of the runtime in load
// tests. A script imports AvatarSession and ChatSession; each session is a real one, with its
// control socket, its picture and its voice, without a browser. docs/load.md describes how to
// use it.
//
// The sessions run on goroutines of their own, and their methods return promises. What
// happens in them becomes samples of the metrics in metrics.go. A session that a script does
// not close ends with the iteration that made it. The package must not do what a session does:
// it uses those of the runtime as any other program.
package agentruntime

import (
	"context"
	"errors"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"

	"github.com/agentruntime/agentruntime/runtime/fault"
)

func init() { modules.Register("k6/x/agentruntime", new(Module)) }

// Module implements [modules.Module].
type Module struct{}

// NewModuleInstance implements [modules.Module]; each virtual user has an instance.
func (*Module) NewModuleInstance(vu modules.VU) modules.Instance {
	meters, err := newMeters(vu.InitEnv().Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	return &instance{vu: vu, meters: meters}
}

type instance struct {
	vu     modules.VU
	meters *meters
}

// Exports implements [modules.Instance].
func (i *instance) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{
		"AvatarSession": i.newAvatar,
		"ChatSession":   i.newChat,
	}}
}

// begin reads the options of a new session into o, and throws for those that are not allowed.
func (i *instance) begin(call sobek.ConstructorCall, o interface{ check() error }) {
	err := readOptions(call.Argument(0), o)
	if i.vu.State() == nil {
		err = fault.New(fault.InvalidState, "make sessions in a function that virtual users run, not while the script is loaded")
	}
	if err != nil {
		panic(i.jsError(err)) // sobek throws it
	}
}

// promise runs work on a goroutine and returns the promise of its outcome.
func promise[T any](i *instance, work func(ctx context.Context) (T, error)) *sobek.Promise {
	p, resolve, reject := i.vu.Runtime().NewPromise()
	back := i.vu.RegisterCallback()
	ctx := i.vu.Context()
	go func() {
		value, err := work(ctx)
		back(func() error {
			if err != nil {
				return reject(i.jsError(err))
			}
			return resolve(value)
		})
	}()
	return p
}

// jsError returns the Error that a script gets: its message, its code of docs/errors.md, and
// whether the same call may succeed later. It must be called on the loop of the virtual user.
func (i *instance) jsError(err error) *sobek.Object {
	rt := i.vu.Runtime()
	e := fault.From(err)
	object, failed := rt.New(rt.GlobalObject().Get("Error"), rt.ToValue(e.Error()))
	if failed != nil {
		common.Throw(rt, failed)
	}
	for name, value := range map[string]any{"name": "AgentError", "code": string(e.Code), "retryable": e.Retryable, "status": e.Status, "phase": string(e.Phase)} {
		failed = errors.Join(failed, object.Set(name, value))
	}
	if failed != nil {
		common.Throw(rt, failed)
	}
	return object
}
