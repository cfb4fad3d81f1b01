package figures

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

// Main runs a benchmark until it ends or is interrupted.
func Main(run func(context.Context) error) {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Print(err)
		stop()
		os.Exit(1)
	}
}

// Select splits list at its commas and checks that each part is one of names. It returns nil
// for an empty list.
func Select(list string, names []string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	selected := strings.Split(list, ",")
	for _, name := range selected {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("-rows: %q is none of %s", name, strings.Join(names, ", "))
		}
	}
	return selected, nil
}

// Wait returns after d, or when ctx ends.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
