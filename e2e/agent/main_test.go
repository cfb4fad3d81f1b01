package agent

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/house"
)

func TestMain(m *testing.M) { house.Main(m, house.Talking) }
