package element

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A printed page has all of the conversation, and not the part that the log shows, and none of the controls.
func TestAPrintedConversationIsWhole(t *testing.T) {
	t.Parallel()
	for _, modes := range []string{"text", "face text"} {
		t.Run(modes, func(t *testing.T) {
			t.Parallel()
			_, p := open(t)
			p.SetSize(720, 600)
			p.Do(nil, `await place("agent-avatar", {modes: "`+modes+`", microphone: "none"})
				await element.start()
				await element.send("Quiz me.")
				await until(() => seen("fieldset") && seen(".followups") && find("[part=log]").scrollHeight > find("[part=log]").clientHeight + 20)`)
			err := p.Run(p.Context(), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
				_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
				return err
			}))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Cut   float64 // how much of the log is not seen, in pixels
				Shown []string
			}
			p.Do(&got, `const log = find("[part=log]")
				return {cut: log.scrollHeight - log.clientHeight, shown: ["[part=controls]", "[part=composer]", "[part=tools]", ".agent-answer"].filter(seen)}`)
			if got.Cut > 1 || len(got.Shown) > 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}
