package chat

import (
	"testing"

	"github.com/agentruntime/agentruntime/e2e/pagetest"
	"github.com/agentruntime/agentruntime/internal/localservice"
)

// drawn is what a page has made of a text.
type drawn struct {
	HTML    string
	Strange []string // elements, attributes and addresses that must not come of a text
	Redrawn int      // blocks that were drawn again although they were complete
}

// draw shows texts as the pages do, each in pieces of so many characters, and
// looks at the element after every piece.
func draw(p *pagetest.Page, texts []string, size int) []drawn {
	var got []drawn
	p.Call(&got, "/e2e/chat/testdata/markdown.js", "draw", texts, size)
	return got
}

// A text of the service never becomes anything but a text, wherever it is cut.
func TestTextStaysText(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open("/example/avatar/")
	for i, d := range draw(p, []string{
		`<script>alert(1)</script><img src=x onerror=alert(1)><b onclick=alert(1)>b</b>`,
		"[a](javascript:alert(1)) [b](JAVA\tSCRIPT:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](&#106;avascript:alert(1)) <javascript:alert(1)>",
		"[f](https://a.example \"t\\\" onclick=alert(1)\") [g](/here) [h](//b.example/x) https://c.example/?a=1&b=\"2\" mailto:d@e.example",
		"![pixel](https://spy.example/p.gif) ![x](javascript:alert(1)) ![\"onerror=\"](https://a.example)",
		"```html\"onclick=alert(1)\n<script>alert(1)</script>\n```\n\n    <img onerror=alert(1)>",
		"| a <img> | b |\n|---|---|\n| [x](javascript:1) | `<i>` |",
		"[r]: javascript:alert(1)\n\n[r] and [r][r] &lt;script&gt; &#60;script&#62;",
		"<!-- <script> --> <![CDATA[<x>]]> <?php ?> <!DOCTYPE x>",
	}, 7) {
		if len(d.Strange) > 0 {
			t.Errorf("text %d became %q in\n%s", i, d.Strange, d.HTML)
		}
	}
}

func TestMarkdownIsDrawnWhileItGrows(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open("/example/avatar/")
	text := "# One\n\nFirst **bold** and `code` and [a link](https://a.example/x).\n\n- one\n- two **three**\n\n" +
		"1. first\n2. second\n\n```js\nconst x = 1 // **no**\n```\n\n| a | b |\n|---|---:|\n| 1 | 2 |\n\n> quoted\n\n---\n\nThe end: 42"
	const want = `<h3>One</h3>` +
		`<p>First <strong>bold</strong> and <code>code</code> and <a href="https://a.example/x" target="_blank" rel="noopener noreferrer">a link</a>.</p>` +
		"<ul><li>one</li>\n<li>two <strong>three</strong></li>\n</ul>" +
		"<ol><li>first</li>\n<li>second</li>\n</ol>" +
		`<div class="agent-wide" tabindex="0" role="group" aria-label="Code"><pre><code class="language-js">const x = 1 // **no**` + "\n</code></pre></div>" +
		`<div class="agent-wide" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th>a</th>` + "\n" + `<th style="text-align: right;">b</th>` + "\n</tr>\n</thead>\n<tbody><tr><td>1</td>\n" +
		`<td style="text-align: right;">2</td>` + "\n</tr>\n</tbody>\n</table></div>" +
		"<blockquote><p>quoted</p>\n</blockquote><hr><p>The end: 42</p>"
	for _, size := range []int{1, 7, 1000} {
		got := draw(p, []string{text}, size)[0]
		if got.HTML != want {
			t.Errorf("in pieces of %d:\n got %s\nwant %s", size, got.HTML, want)
		}
		if got.Redrawn > 0 {
			t.Errorf("in pieces of %d: %d blocks that were whole were drawn again", size, got.Redrawn)
		}
	}
}

// A growing text never shows markup characters that are interpreted a moment later.
func TestGrowingTextDoesNotFlicker(t *testing.T) {
	t.Parallel()
	p := pagetest.New(t, localservice.Options{}).Open("/example/avatar/")
	var got map[string]string
	p.Do(&got, `
		const {GrowingMarkdown} = await import("/js/dist/ui.js")
		const shown = {}
		for (const text of ["Some **bold wo", "Some **", "Use `+"`co"+`", "See [the pa", "See [the page](https://a.exa", "List:\n-", "List:\n\n1.", "a\n#",
			"| a | b |", "| a | b |\n|--", "`+"```\\n**x"+`", "2 * 3 = 6", "snake_case_", "a ~~b"]) {
			const element = document.createElement("div")
			const growing = new GrowingMarkdown(element)
			growing.add(text)
			await new Promise((resolve) => requestAnimationFrame(resolve))
			shown[text] = element.innerHTML.replaceAll("\n", "")
		}
		return shown`)
	code := `<div class="agent-wide" tabindex="0" role="group" aria-label="Code"><pre><code>**x</code></pre></div>`
	for text, want := range map[string]string{
		"Some **bold wo":               "<p>Some <strong>bold wo</strong></p>",
		"Some **":                      "<p>Some</p>",
		"Use `co":                      "<p>Use <code>co</code></p>",
		"See [the pa":                  "<p>See</p>",
		"See [the page](https://a.exa": "<p>See</p>",
		"List:\n-":                     "<p>List:</p>",
		"List:\n\n1.":                  "<p>List:</p>",
		"a\n#":                         "<p>a</p>",
		"| a | b |":                    "",
		"| a | b |\n|--":               "",
		"```\n**x":                     code,
		"2 * 3 = 6":                    "<p>2 * 3 = 6</p>",
		"snake_case_":                  "<p>snake_case_</p>",
		"a ~~b":                        "<p>a ~~b</p>",
	} {
		if got[text] != want {
			t.Errorf("%q shows %s, want %s", text, got[text], want)
		}
	}
}
