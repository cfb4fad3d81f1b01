package brain

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/agentruntime/agentruntime/internal/template"
)

// Holds evaluates the condition of a skill: a variable, compared with == or != with
// another one or a literal, joined by not, and, or and parentheses, as in
// "sys__avatar_enabled and plan == 'gold'". A variable alone holds unless it is missing,
// empty, 0 or false. An empty condition always holds.
func Holds(condition string, vars map[string]any) (bool, error) {
	if strings.TrimSpace(condition) == "" {
		return true, nil
	}
	p := &conditionParser{vars: vars}
	for rest := condition; strings.TrimSpace(rest) != ""; {
		match := conditionToken.FindString(rest)
		if match == "" {
			return false, fmt.Errorf("condition: unexpected %q", strings.TrimSpace(rest))
		}
		p.tokens = append(p.tokens, strings.TrimSpace(match))
		rest = rest[len(match):]
	}
	value, err := p.or()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("condition: unexpected %q", p.tokens[0])
	}
	return holds(value), err
}

var conditionToken = regexp.MustCompile(`^\s*(?:==|!=|[()]|'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|[A-Za-z_][A-Za-z0-9_.]*)`)

// conditionParser evaluates while it parses, one method for each level of precedence.
// Every operand is parsed, so that errors do not depend on the variables.
type conditionParser struct {
	tokens []string
	vars   map[string]any
	depth  int
}

// maxConditionDepth bounds how deep parentheses and nots may be nested.
const maxConditionDepth = 32

func (p *conditionParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

func (p *conditionParser) accept(token string) bool {
	if len(p.tokens) > 0 && p.tokens[0] == token {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func (p *conditionParser) or() (any, error) {
	left, err := p.and()
	for err == nil && p.accept("or") {
		var right any
		if right, err = p.and(); !holds(left) {
			left = right
		}
	}
	return left, err
}

func (p *conditionParser) and() (any, error) {
	left, err := p.not()
	for err == nil && p.accept("and") {
		var right any
		if right, err = p.not(); holds(left) {
			left = right
		}
	}
	return left, err
}

func (p *conditionParser) not() (any, error) {
	if p.depth++; p.depth > maxConditionDepth {
		return nil, fmt.Errorf("condition: more than %d levels deep", maxConditionDepth)
	}
	defer func() { p.depth-- }()
	if p.accept("not") {
		value, err := p.not()
		return !holds(value), err
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	same := p.accept("==")
	if !same && !p.accept("!=") {
		return left, nil
	}
	right, err := p.operand()
	return (template.Text(left) == template.Text(right)) == same, err
}

func (p *conditionParser) operand() (any, error) {
	token := p.next()
	switch {
	case token == "(":
		value, err := p.or()
		if err == nil && !p.accept(")") {
			err = fmt.Errorf("condition: want )")
		}
		return value, err
	case token == "" || token == ")" || token == "==" || token == "!=" || token == "and" || token == "or" || token == "not":
		return nil, fmt.Errorf("condition: want a value, not %q", token)
	case token[0] == '\'' || token[0] == '"':
		return token[1 : len(token)-1], nil
	case token[0] == '-' || token[0] >= '0' && token[0] <= '9':
		return token, nil
	case strings.EqualFold(token, "true"), strings.EqualFold(token, "false"):
		return strings.EqualFold(token, "true"), nil
	}
	return p.vars[token], nil
}

// holds reports whether a value counts as true.
func holds(value any) bool {
	switch text := template.Text(value); text {
	case "", "0", "false", "[]", "{}":
		return false
	}
	return true
}
