package agentotel_test

import (
	"context"
	"log"

	agentotel "github.com/agentruntime/agentruntime/otel"
	"github.com/agentruntime/agentruntime/runtime/appinit"
	"github.com/agentruntime/agentruntime/runtime/chat"
)

// The program has set the global providers of go.opentelemetry.io/otel, for example with
// exporters of OTLP.
func ExampleTelemetry_Attach() {
	ctx := context.Background()
	telemetry, err := agentotel.New(agentotel.Options{})
	if err != nil {
		log.Fatal(err)
	}
	access, err := appinit.Init(ctx, appinit.Options{WidgetID: "your widget id"})
	if err != nil {
		log.Fatal(err)
	}
	o := chat.OptionsFor(access)
	telemetry.Attach(ctx, &o.Options)
	s, err := chat.New(o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Connect(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := s.SendText(ctx, "Hello", chat.TurnOptions{}); err != nil {
		log.Fatal(err)
	}
}
