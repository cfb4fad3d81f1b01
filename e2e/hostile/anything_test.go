package hostile

import "testing"

// Whatever a page passes, it gets an error of the package, and nothing is sent.
func TestAnythingIsRefusedWithATypedError(t *testing.T) {
	t.Parallel()
	_, p := openPage(t)
	p.Allow("local or private host")
	var got []string
	p.Call(&got, "anything.js", "anythingIsRefusedWithATypedError")
	for _, wrong := range got {
		t.Error(wrong)
	}
}
