// Package sdp stands in for pion/sdp in the programs for the page, where the browser reads
// session descriptions. It declares what pion/webrtc refers to there, for types only: no
// function of this module is linked (internal/archtest), and those that can return an
// error do.
package sdp

import "errors"

const AttrKeyICEOptions = "ice-options"

type ConnectionRole int

const (
	ConnectionRoleActive ConnectionRole = iota + 1
	ConnectionRolePassive
	ConnectionRoleActpass
)

func (ConnectionRole) String() string { return "" }

type Attribute struct{ Key, Value string }

type MediaDescription struct{ Attributes []Attribute }

func (*MediaDescription) Attribute(string) (string, bool) { return "", false }

type SessionDescription struct{ MediaDescriptions []*MediaDescription }

func (*SessionDescription) Attribute(string) (string, bool) { return "", false }
func (*SessionDescription) UnmarshalString(string) error    { return errors.ErrUnsupported }
