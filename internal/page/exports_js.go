//go:build js && wasm

package page

// Exports are what a page can call of a program, by the names in js/src/program.ts.
type Exports struct {
	Methods
	// Sessions make sessions: of options and a function that takes events.
	Sessions map[string]Open
}

// Common lists what every program exports.
func Common() Exports {
	methods := visitorMethods()
	methods.Later["appInit"] = appInit
	methods.Later["converseOnce"] = converseOnce
	methods.Streams["converse"] = Stream(converseStream)
	return Exports{Methods: methods, Sessions: map[string]Open{"chatSession": openChat}}
}

// exports is the JavaScript form of e.
func (p *Program) exports(e Exports) map[string]any {
	object := p.object(e.Methods)
	for name, open := range e.Sessions {
		object[name] = p.now(func(c Call) (any, error) { return p.Open(open, c.At(0), c.At(1)) })
	}
	return object
}
