module github.com/agentruntime/agentruntime/otel

go 1.26.0

require (
	github.com/agentruntime/agentruntime v0.0.0
	go.opentelemetry.io/otel v1.44.0
	go.opentelemetry.io/otel/metric v1.44.0
	go.opentelemetry.io/otel/sdk v1.44.0
	go.opentelemetry.io/otel/sdk/metric v1.44.0
	go.opentelemetry.io/otel/trace v1.44.0
)

replace github.com/agentruntime/agentruntime => ../
