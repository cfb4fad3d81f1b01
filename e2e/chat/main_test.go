package chat

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/browsertest"
	"github.com/agentruntime/agentruntime/e2e/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m, browsertest.Options{}) }
