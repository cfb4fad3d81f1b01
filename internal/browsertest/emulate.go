//go:build !js

package browsertest

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Settings for SetPermission.
const (
	Granted = browser.PermissionSettingGranted
	Denied  = browser.PermissionSettingDenied
)

// SetPermission answers the page's request for a permission, such as
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

// SetHidden minimizes the page's window, so that the page becomes hidden and gets
// the event, or shows it again. The timers of a hidden page run at full speed.
func (p *Page) SetHidden(ctx context.Context, hidden bool) error {
	state := browser.WindowStateNormal
	if hidden {
		state = browser.WindowStateMinimized
	}
	err := p.call(ctx, func(ctx context.Context, t *chromedp.Target) error {
		window, err := cdp.Call(ctx, t, browser.GetWindowForTarget, browser.GetWindowForTargetParams{})
		if err != nil {
			return err
		}
		_, err = cdp.Call(ctx, t, browser.SetWindowBounds, browser.SetWindowBoundsParams{
			WindowID: window.WindowID,
			Bounds:   &browser.Bounds{WindowState: state},
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("set hidden: %w", err)
	}
	return nil
}

// AddScript runs js in every document that the page opens from now on, before
// the document's own scripts.
func (p *Page) AddScript(ctx context.Context, js string) error {
	err := p.call(ctx, func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument,
			page.AddScriptToEvaluateOnNewDocumentParams{Source: js})
		return err
	})
	if err != nil {
		return fmt.Errorf("add script: %w", err)
	}
	return nil
}

// Click clicks the middle of the first element that the CSS selector finds,
// waiting until it is visible. The page sees a real click: a user gesture.
func (p *Page) Click(ctx context.Context, selector string) error {
	if err := p.Run(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("click %s: %w", selector, err)
	}
	return nil
}
