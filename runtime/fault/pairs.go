package fault

import (
	"strings"
)

// nameKind says how the value of a name has to be treated.
type nameKind uint8

const (
	plainName  nameKind = iota
	tokenName           // a word that prose uses too: "invalid token: expired"
	secretName          // its value goes, whatever it looks like
	lineName            // a header: the value reaches to the end of the line
	wholeName           // the value goes as a whole, objects included
	varsName            // request variables: an object, or one that is encoded
)

// isProse reports whether the value of a name, in "name: value", is the first
// word of a sentence about it, like "request_vars: too many".
func (k nameKind) isProse(value string) bool {
	word := strings.TrimRight(value, ".:!?")
	switch k {
	case tokenName:
		return !looksSecret(value)
	case varsName:
		return isWord(word)
	case secretName, wholeName:
		return isWord(word) && beginsRemark(word)
	}
	return false
}

// isWord reports whether s is written like a word: short, of letters, and small
// ones behind the first.
func isWord(s string) bool {
	const long = 20
	for i := range len(s) {
		small := s[i] >= 'a' && s[i] <= 'z'
		if !small && (i > 0 || s[i] < 'A' || s[i] > 'Z') {
			return false
		}
	}
	return s != "" && len(s) < long
}

// beginsRemark knows the words that a remark about a password begins with. People
// choose words as passwords, so that nothing else tells "password: must be set"
// from "password: correct horse". Whose password is one of these is not given
// away: nobody can tell it from the remark.
func beginsRemark(word string) bool {
	switch strings.ToLower(word) {
	case "must", "should", "may", "can", "cannot", "could", "has", "needs", "is", "are", "was", "not", "no", "too",
		"required", "missing", "invalid", "incorrect", "wrong", "empty", "expired", "expected", "unknown":
		return true
	}
	return false
}

// classify knows the names whose values are secrets, in any of the spellings
// access_token, access-token and accessToken.
func classify(name string) nameKind {
	// What spellings of one name differ in, besides capitals.
	name = strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
	switch name {
	case "ks", "jwt":
		return tokenName
	case "pass", "passwd", "pwd", "icepwd", "credentials", "privatekey", "signature":
		return secretName
	case "authorization", "proxyauthorization", "cookie", "setcookie":
		return lineName
	case "requestvars":
		return varsName
	case "secrets":
		return wholeName
	}
	for _, suffix := range [...]string{"secret", "password", "passphrase", "credential", "apikey"} {
		if strings.HasSuffix(name, suffix) {
			return secretName
		}
	}
	if strings.HasSuffix(name, "token") {
		return tokenName
	}
	return plainName
}

// redactPairs removes the values of secret names: "ks":"…" in JSON, also in
// JSON inside a string, ks=… in query strings and forms, headers, and what Go
// prints for maps and structs.
func redactPairs(s string) string {
	r := rewriter{src: s}
	for i := 0; i < len(s); {
		if !isNameChar(s[i]) {
			i++
			continue
		}
		end := nameEnd(s, i)
		if i > 0 && s[i-1] == '%' && end-i > 2 && isHex(s[i]) && isHex(s[i+1]) {
			i += 2 // the digits of an encoded character, not of the name
		}
		kind := classify(s[i:end])
		i = end
		if kind == plainName {
			continue
		}
		from, to := pairValue(s, end, kind)
		if to == from {
			from, to = encodedValue(s, end, kind)
		}
		if to > from {
			r.cut(from, to)
			i = to
		}
	}
	return r.String()
}

// pairValue finds the value that belongs to a name ending at i. The result is
// empty when no value follows, or one that may stay.
func pairValue(s string, i int, kind nameKind) (from, to int) {
	closing := skip(s, i, "\\")
	quoted := closing < len(s) && isQuote(s[closing])
	if quoted {
		i = closing + 1
	}
	i = skip(s, i, " \t")
	if i == len(s) || s[i] != ':' && s[i] != '=' {
		return 0, 0
	}
	colon := s[i] == ':'
	from = skip(s, i+1, " \t\r\n")
	prose := colon && !quoted && from > i+1

	escapes := skip(s, from, "\\")
	switch {
	case escapes < len(s) && isQuote(s[escapes]):
		return escapes + 1, closingQuote(s, escapes+1, s[from:escapes+1])
	case from < len(s) && s[from] == '{':
		if kind == wholeName || kind == varsName {
			return from, groupEnd(s, from)
		}
		return 0, 0 // the names inside are looked at one by one
	case from < len(s) && s[from] == '[' && !strings.HasPrefix(s[from:], Redacted):
		return from, groupEnd(s, from)
	}

	if kind == lineName && strings.HasPrefix(s[from:], Redacted) {
		return 0, 0 // what follows the marker is not of this header any more
	}
	delimiters := " \t\r\n,;&\"'`<>(){}]\\"
	if kind == lineName {
		delimiters = "\r\n\"'`"
	}
	to = from
	for to < len(s) {
		if strings.HasPrefix(s[to:], Redacted) {
			to += len(Redacted)
		} else if strings.IndexByte(delimiters, s[to]) < 0 {
			to++
		} else {
			break
		}
	}
	switch value := s[from:to]; {
	case value == "null", value == "true", value == "false", value == "undefined":
		return 0, 0
	case prose && kind.isProse(value), isSecretName(value):
		return 0, 0
	}
	return from, to
}

// isSecretName reports whether what looks like a value is a name with a value of
// its own, as in "wrong secret: password: …".
func isSecretName(value string) bool {
	end := nameEnd(value, 0)
	switch strings.ToUpper(value[end:]) {
	case ":", "=", "%3A", "%3D":
		return classify(value[:end]) != plainName
	}
	return false
}

// encodedValue is pairValue for percent-encoded text, in which the quotes of a
// name, or what stands between name and value, is written like %22 and %3A.
func encodedValue(s string, i int, kind nameKind) (from, to int) {
	i = skipAny(s, i, "%5C")
	quoted := hasAnyPrefix(s[i:], "%22", "%27")
	if quoted {
		i += len("%22")
	}
	i = skipAny(s, i, "%20", "+", " ")
	switch {
	case hasAnyPrefix(s[i:], "%3A", "%3D"):
		i += len("%3A")
	case quoted && hasAnyPrefix(s[i:], ":", "="):
		i++
	default:
		return 0, 0
	}
	from = skipAny(s, i, "%20", "+", " ", "%5C", "%22", "%27")
	for to = from; to < len(s); to++ {
		if strings.HasPrefix(s[to:], Redacted) {
			to += len(Redacted) - 1
		} else if strings.IndexByte(" \t\r\n,;&\"'`<>(){}]\\#", s[to]) >= 0 ||
			hasAnyPrefix(s[to:], "%22", "%27", "%5C", "%0A", "%0D") ||
			kind != lineName && hasAnyPrefix(s[to:], "%20", "%26", "%2C", "%3B", "%7D", "%5D") {
			break
		}
	}
	switch value := s[from:to]; {
	case value == "null", value == "true", value == "false", value == "undefined", isSecretName(value):
		return 0, 0
	}
	return from, to
}

// skipAny returns the first index from i on where none of the parts begins.
func skipAny(s string, i int, parts ...string) int {
next:
	for {
		for _, part := range parts {
			if foldPrefix(s[i:], part) {
				i += len(part)
				continue next
			}
		}
		return i
	}
}

// closingQuote returns where the string that begins at i ends. quote is its
// opening quote with the backslashes before it; JSON inside JSON strings has
// one, three, … of them.
func closingQuote(s string, i int, quote string) int {
	escapes := len(quote) - 1
	run := 0
	for ; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			run++
			continue
		case s[i] == quote[escapes] && run <= escapes:
			return i - run
		}
		run = 0
	}
	return i - run
}

// groupEnd returns the end of the object or array that begins at i, or of s.
// Brackets inside strings don't count.
func groupEnd(s string, i int) int {
	depth, inString := 0, false
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// maxDepth bounds the nesting that RedactValue follows; deeper parts are
// replaced.
const maxDepth = 32

// RedactValue returns a copy of v, made of JSON's own types, in which every
// string went through Redact and the values of secret names are gone. What is of
// another type can't be checked, and is gone too.
func RedactValue(v any) any { return redactValue(v, maxDepth) }

func redactValue(v any, depth int) any {
	if depth == 0 {
		return Redacted
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64:
		return v
	case string:
		return Redact(v)
	case error:
		return Redact(v.Error())
	case []byte:
		return Redact(string(v))
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = redactValue(v[i], depth-1)
		}
		return out
	case map[string]any:
		return redactMembers(v, depth)
	case map[string]string:
		return redactMembers(v, depth)
	}
	return Redacted
}

func redactMembers[T any](members map[string]T, depth int) any {
	out := make(map[string]any, len(members))
	for name, value := range members {
		out[Redact(name)] = redactNamed(name, value, depth-1)
	}
	return out
}

// redactNamed redacts the value of a name.
func redactNamed(name string, value any, depth int) any {
	kind := classify(name)
	switch value.(type) {
	case nil, bool:
		return value
	case map[string]any:
		if kind != wholeName && kind != varsName {
			return redactValue(value, depth)
		}
	}
	if kind == plainName {
		return redactValue(value, depth)
	}
	return Redacted
}
