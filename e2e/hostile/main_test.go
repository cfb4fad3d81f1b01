package hostile

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/house"
	"github.com/agentruntime/agentruntime/internal/browsertest"
)

func TestMain(m *testing.M) { house.Main(m, browsertest.Options{}) }
