//go:build !js

// Package browsertest drives whole pages in a headless Chromium from Go tests.
//
// Tests call Start and NewPage. A Page records its console, its exceptions and its
// end, so that a test fails with a reason instead of waiting for a page that has
// ended. Go tests compiled for GOOS=js run under wasmbrowsertest instead; see
// internal/chromium.
//
// The package depends on Chromium and the DevTools protocol (through chromedp), not on
// sessions. Only tests and benchmarks may import it.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/agentruntime/agentruntime/internal/chromium"
)

// Options configure a browser. The zero value has no microphone.
type Options struct {
	// Flags are further command line flags, "--name" or "--name=value". They
	// override the package's own.
	Flags []string
	// Microphone is a WAV file that is played in a loop as the microphone of pages
	// (append "%noloop" to play it once). Pages then begin with permission to
	// use it, which SetPermission can take away. Default: no microphone.
	Microphone string
}

// closeLimit bounds how long a browser may take to end by itself after it was told to close.
const closeLimit = 5 * time.Second

// Browser is a running Chromium with a profile of its own, which is removed
// when the browser is closed.
type Browser struct {
	ctx     context.Context // chromedp's context with the DevTools connection; ends with the browser
	options Options
	close   func()
}

// Start starts a browser, without its sandbox as root or when
// AGENTRUNTIME_NO_SANDBOX is set. ctx bounds the start only; the browser runs until
// Close, or until it ends by itself, which closes Done.
func Start(ctx context.Context, o Options) (*Browser, error) {
	flags, err := o.allocatorOptions()
	if err != nil {
		return nil, fmt.Errorf("start browser: %w", err)
	}
	allocator, stopAllocator := chromedp.NewExecAllocator(context.WithoutCancel(ctx), flags...)
	// Calls return a broken connection as an error, so chromedp need not print it.
	bctx, stopBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {}))
	b := &Browser{ctx: bctx, options: o}
	b.close = sync.OnceFunc(func() {
		// Cancel closes the browser, which then removes its temporary files. The other
		// calls kill a browser that does not respond.
		closeCtx, cancel := context.WithTimeout(bctx, closeLimit)
		defer cancel()
		chromedp.Cancel(closeCtx)
		stopBrowser()
		stopAllocator()
	})
	if err := start(ctx, bctx, stopBrowser); err != nil {
		stopAllocator()
		return nil, fmt.Errorf("start browser: %w", err)
	}
	return b, nil
}

// Done is closed when the browser has ended.
func (b *Browser) Done() <-chan struct{} { return b.ctx.Done() }

// Close ends the browser with all its pages, waits for its processes and
// removes its profile. It may be called twice.
func (b *Browser) Close() { b.close() }

// allocatorOptions converts o to the options with which chromedp starts the browser.
func (o Options) allocatorOptions() ([]chromedp.ExecAllocatorOption, error) {
	path, err := chromium.Find()
	if err != nil {
		return nil, err
	}
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options,
		chromedp.ExecPath(path),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-component-update", true),
		// Those of chromedp, and two pages of the address bar, which a headless browser loads with
		// each window but does not show: they took 2.0 s of the 5.0 s of processor time of a browser
		// with one empty page.
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,WebUIOmniboxPopup,WebUIOmniboxAimPopup"),
		// Chromium refuses to run as root with its sandbox, and the sandbox does not
		// work in many containers.
		chromedp.Flag("no-sandbox", os.Getuid() == 0 || os.Getenv("AGENTRUNTIME_NO_SANDBOX") != ""),
	)
	if o.Microphone != "" {
		file, noloop := strings.CutSuffix(o.Microphone, "%noloop")
		// Chromium plays a beep instead of a file that it cannot open.
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("fake microphone: %w", err)
		}
		file, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("fake microphone: %w", err)
		}
		if noloop {
			file += "%noloop"
		}
		options = append(options,
			// Without use-fake-ui-for-media-stream, which grants access even when the
			// permission is denied.
			chromedp.Flag("use-fake-device-for-media-stream", true),
			chromedp.Flag("use-file-for-fake-audio-capture", file),
		)
	}
	for _, flag := range o.Flags {
		name, value, hasValue := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if !hasValue {
			options = append(options, chromedp.Flag(name, true))
			continue
		}
		options = append(options, chromedp.Flag(name, value))
	}
	return options, nil
}

// start makes chromedp start the browser or open the tab of target. When that
// fails or ctx ends first, it cancels target and waits until everything has ended.
// chromedp ends what it has started with the context of the first call, so that
// context must be target, which has no deadline.
func start(ctx, target context.Context, cancel context.CancelFunc) error {
	done := make(chan error, 1)
	go func() { done <- chromedp.Do(target) }()
	select {
	case err := <-done:
		if err != nil {
			cancel()
		}
		return err
	case <-ctx.Done():
		cancel()
		<-done
		return context.Cause(ctx)
	}
}
