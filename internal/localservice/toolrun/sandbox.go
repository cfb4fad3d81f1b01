package toolrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/quickjs"
)

// Limits of the code of one tool.
const (
	codeMemory  = 32 << 20 // bytes of the interpreter's heap
	codeTime    = 5 * time.Second
	checkTime   = time.Second // of a code's top level, when it is stored
	codeDepth   = 1024        // calls within calls
	codesAtOnce = 4           // that run; others wait
)

// codeSlots bound what all codes together take: codesAtOnce times codeMemory.
var codeSlots = make(chan struct{}, codesAtOnce)

// CheckCode returns an error for a code that could not run: it must be JavaScript whose
// top level defines a function main. The service's own tools are Python, which does not
// run here (management-api.md F.7).
func CheckCode(code string) error {
	_, err := inSandbox(context.Background(), checkTime, code, func(vm *quickjs.VM) (any, error) {
		return vm.Eval(`if (typeof main !== "function") throw new Error("it must define a function main(request_config)")`, quickjs.EvalGlobal)
	})
	if err != nil && isPython(code) {
		return errors.New("this service runs code tools as JavaScript, with a function main(request_config); Python does not run here")
	}
	return err
}

// isPython reports whether a code defines main as Python does.
func isPython(code string) bool {
	for line := range strings.Lines(code) {
		if strings.HasPrefix(line, "def main(") || strings.HasPrefix(line, "async def main(") {
			return true
		}
	}
	return false
}

// runCode calls main({args, variables}) of a code and returns its result as an object.
// The code has no network, no files, no clock of its own to wait on and no other tool,
// and gets no secret.
func runCode(ctx context.Context, limit time.Duration, code string, args, vars map[string]any) (json.RawMessage, error) {
	shown := map[string]any{}
	for name, value := range vars {
		if !isSecret(name) {
			shown[name] = value
		}
	}
	config, err := json.Marshal(map[string]any{"args": args, "variables": shown})
	if err != nil {
		return nil, errors.New("the arguments can't be written as JSON")
	}
	value, err := inSandbox(ctx, limit, code, func(vm *quickjs.VM) (any, error) {
		// A promise has no way to be settled later: nothing in the sandbox waits.
		return vm.Call("agentruntime_call", string(config))
	})
	if err != nil {
		return nil, err
	}
	text, _ := value.(string)
	switch {
	case text == "":
		return nil, errors.New("main returned nothing that JSON can hold")
	case len(text) > maxReply:
		return nil, fmt.Errorf("the result of main has more than %d bytes", maxReply)
	}
	return whole([]byte(text)), nil
}

// caller calls main. It is evaluated before the tool's code, so that the code can't
// replace what it uses.
const caller = `const agentruntime_call = ((parse, stringify) => (config) => {
  const result = main(parse(config))
  if (result !== null && typeof result === "object" && typeof result.then === "function") throw new Error("main must return its result, not a promise")
  return stringify(result)
})(JSON.parse, JSON.stringify)`

// inSandbox evaluates code in an interpreter of its own, and then calls use.
func inSandbox(ctx context.Context, limit time.Duration, code string, use func(vm *quickjs.VM) (any, error)) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, min(limit, codeTime))
	defer cancel()
	select {
	case codeSlots <- struct{}{}:
		defer func() { <-codeSlots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, errors.New("the code can't be run: no interpreter")
	}
	defer vm.Close() //nolint:errcheck // frees memory
	vm.SetMemoryLimit(codeMemory)
	vm.SetMaxStackSize(codeDepth)
	defer context.AfterFunc(ctx, vm.Interrupt)()
	// For an interruption between two steps, which the next step would not notice.
	if err := vm.SetEvalTimeout(min(limit, codeTime) + 100*time.Millisecond); err != nil {
		return nil, err
	}
	var result any
	for _, step := range []func() (any, error){
		func() (any, error) { return vm.Eval(caller, quickjs.EvalGlobal) },
		func() (any, error) { return vm.Eval(code, quickjs.EvalGlobal) },
		func() (any, error) { return use(vm) },
	} {
		if result, err = step(); ctx.Err() != nil {
			return nil, fmt.Errorf("the code took longer than %v", min(limit, codeTime))
		} else if err != nil {
			// An interpreter without memory has none for a message either.
			return nil, fmt.Errorf("the code fails: %.300s", cmp.Or(err.Error(), "out of memory"))
		}
	}
	return result, nil
}
