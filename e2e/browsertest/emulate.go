//go:build !js

package browsertest

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Settings for SetPermission.
const (
	Granted = browser.PermissionSettingGranted
	Denied  = browser.PermissionSettingDenied
)

// SetPermission sets the response to the page's requests for a permission, such as
// "microphone", on every origin.
func (p *Page) SetPermission(ctx context.Context, name string, setting browser.PermissionSetting) error {
	tab := chromedp.FromContext(p.tab)
	_, err := cdp.Call(ctx, tab.Browser, browser.SetPermission, browser.SetPermissionParams{
		Permission:       &browser.PermissionDescriptor{Name: name},
		Setting:          setting,
		BrowserContextID: tab.BrowserContextID,
	})
	if err != nil {
		return fmt.Errorf("set permission %s: %w", name, err)
	}
	return nil
}

// SetCPUThrottle slows the page's main thread down by a factor; 1 is full speed.
func (p *Page) SetCPUThrottle(ctx context.Context, factor float64) error {
	_, err := Call(ctx, p, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: factor})
	if err != nil {
		return fmt.Errorf("set CPU throttle: %w", err)
	}
	return nil
}

// SetDownload delays the response of each request over HTTP by latency, and limits the
// total rate of all responses to bandwidth, in bits per second. Sockets and peer
// connections are not affected.
func (p *Page) SetDownload(ctx context.Context, latency time.Duration, bandwidth int) error {
	_, err := Call(ctx, p, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{
		MatchedNetworkConditions: []*network.Conditions{{
			URLPattern:         "http://*:*/*", // an empty pattern would also apply to peer connections
			Latency:            float64(latency.Milliseconds()),
			DownloadThroughput: float64(bandwidth) / 8,
			UploadThroughput:   -1,
		}},
	})
	if err != nil {
		return fmt.Errorf("set download: %w", err)
	}
	return nil
}

// Heap returns the bytes that the page's scripts use after a garbage collection, with array
// buffers and without WebAssembly memories.
func (p *Page) Heap(ctx context.Context) (float64, error) {
	if _, err := Call(ctx, p, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		return 0, fmt.Errorf("heap: %w", err)
	}
	usage, err := Call(ctx, p, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		return 0, fmt.Errorf("heap: %w", err)
	}
	return usage.UsedSize + usage.BackingStorageSize, nil
}

// SetHidden minimizes the page's window, so that the page becomes hidden and receives
// visibilitychange, or shows it again. The timers of a hidden page are not throttled.
func (p *Page) SetHidden(ctx context.Context, hidden bool) error {
	state := browser.WindowStateNormal
	if hidden {
		state = browser.WindowStateMinimized
	}
	window, err := Call(ctx, p, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
	if err == nil {
		bounds := &browser.Bounds{WindowState: state}
		_, err = Call(ctx, p, browser.SetWindowBounds, browser.SetWindowBoundsParams{WindowID: window.WindowID, Bounds: bounds})
	}
	if err != nil {
		return fmt.Errorf("set hidden: %w", err)
	}
	return nil
}

// AddScript runs js in every document that the page opens from now on, before
// the document's own scripts.
func (p *Page) AddScript(ctx context.Context, js string) error {
	_, err := Call(ctx, p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
	if err != nil {
		return fmt.Errorf("add script: %w", err)
	}
	return nil
}

// Click clicks the middle of the first element that the CSS selector matches, after
// waiting until it is visible. For the page it is a real click, a user gesture.
func (p *Page) Click(ctx context.Context, selector string) error {
	// Both events have one time: a page that distinguishes short presses from long ones must not see
	// how long the browser took to handle the first event.
	sameTime := func(event *input.DispatchMouseEventParams) {
		event.Timestamp = input.TimeSinceEpoch(float64(time.Now().UnixMicro()) / 1e6)
	}
	click := chromedp.QueryAfter(chromedp.CSS(selector), func(ctx context.Context, tab *chromedp.Target, nodes []*chromedp.Node) (chromedp.Void, error) {
		return chromedp.MouseClickNode(nodes[0], sameTime)(ctx, tab)
	}, chromedp.NodeVisible)
	if err := p.Run(ctx, click); err != nil {
		return fmt.Errorf("click %s: %w", selector, err)
	}
	return nil
}
