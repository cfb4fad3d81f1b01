package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// How long a page waits for the runtime, from the import to a program that takes
// calls; once as on a first visit, once with what the browser has kept.
func TestImportToReady(t *testing.T) {
	h := pagetest.New(t, localservice.Options{})
	p := h.Open(folder)
	var cold, warm float64
	const measure = `(async () => {
		const began = performance.now()
		const {load} = await import("/js/dist/index.js")
		await load()
		return performance.now() - began
	})()`
	for _, ms := range []*float64{&cold, &warm} {
		if err := p.Eval(p.Context(), measure, ms); err != nil {
			t.Fatal(err)
		}
		if err := p.Navigate(p.Context(), h.URL+folder); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("measured: import to ready: %.0f ms on the first visit, %.0f ms on the second", cold, warm)
}
