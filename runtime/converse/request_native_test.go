package converse

import (
	"fmt"
	"strings"
	"testing"
)

func TestABrainKeepsItsTokenToItself(t *testing.T) {
	b := brainOf(saying())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, v := range []any{b, &b, []Brain{b}, struct{ B Brain }{b}} {
			if text := fmt.Sprintf(verb, v); strings.Contains(text, token) || strings.Contains(text, fmt.Sprintf("%x", token)) || strings.Contains(text, "djJ8") {
				t.Errorf("%s of %T shows the token: %s", verb, v, text)
			}
		}
	}
}
