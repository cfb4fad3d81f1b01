package element

import "testing"

// In a widget a text has the direction of its own language, also in a page of the other direction.
func TestWidgetsOfAnotherDirection(t *testing.T) {
	t.Parallel()
	_, p := open(t)
	for _, test := range []struct{ dir, text string }{{"rtl", "This is a whole sentence."}, {"ltr", "זה משפט שלם."}} {
		var wrong []string
		p.Call(&wrong, "widgets.js", "inAnotherDirection", test.dir, test.text)
		for _, each := range wrong {
			t.Errorf("in a page with the direction %s: %s", test.dir, each)
		}
	}
}
