package chat

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, browsertest.Options{}) }

// jsonOf writes a value for a script.
func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
