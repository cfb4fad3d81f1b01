import "agentruntime/element"
