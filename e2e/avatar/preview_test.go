package avatar

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// TestPreviewsOfAnAvatarCanBeShown: the browser decodes the picture and the clip that
// appInit names.
func TestPreviewsOfAnAvatarCanBeShown(t *testing.T) {
	t.Parallel()
	h := pagetest.New(t, localservice.Options{})
	p := h.Open(folder)
	var got struct {
		Image, Width, Height int
		Duration, Played     float64
	}
	p.Call(&got, "preview.js", "previewsOfAnAvatarCanBeShown")
	if got.Image == 0 || got.Width != 640 || got.Height != 360 || got.Duration != 4 || got.Played < 3.9 {
		t.Errorf("shown: %+v", got)
	}
}
