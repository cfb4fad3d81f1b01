package api

import (
	"cmp"
	"regexp"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// avatars are reported by the title AVATAR_NOT_FOUND if they are unknown, and so is a body
// without an id (service.md, Avatars).
func (s *server) avatars() *resource[store.Avatar] {
	return &resource[store.Avatar]{
		records: store.Avatars(s.Store), view: viewAgentHost[store.Avatar], needs: []string{"voice"}, set: setAvatar, check: s.checkAvatar,
		query: func(body *listQuery) (q store.Query, err error) {
			err = cmp.Or(body.offset(&q), readFilter(body.Filter, "", nil))
			return q, err
		},
		checkID: func(id string) error {
			if !avatarID.MatchString(id) {
				return invalid("string_pattern_mismatch", "String should be 24 hexadecimal digits", "id")
			}
			return nil
		},
		absent: titled("AVATAR_NOT_FOUND"), unknown: titled("AVATAR_NOT_FOUND"),
	}
}

// avatarRoutes adds the calls about avatars, besides those of every [resource].
func (s *server) avatarRoutes(mux routes) {
	s.manageAgentHost(mux, "/v1/avatar/clone", s.avatars().one(s.avatarClone))
	s.manageAgentHost(mux, "/v1/avatar-template/list", withBody(func(c *call, body listQuery) (any, error) {
		q := store.Query{Shared: true}
		if err := cmp.Or(body.offset(&q), readFilter(body.Filter, "", conditions{"idsIn": &q.IDs})); err != nil {
			return nil, err
		}
		list, total, err := store.AvatarTemplates(s.Store).List(c.ctx(), c.claims.PartnerID, q)
		return listed(list, total, err, func(r *store.Record[store.Avatar]) fields { return shown(r.Body, map[string]any{"id": r.ID}) })
	}))
}

// avatarClone makes a copy of an avatar.
func (s *server) avatarClone(c *call, id string) (any, error) {
	old, err := store.Avatars(s.Store).Get(c.ctx(), c.claims.PartnerID, id)
	if err != nil {
		return nil, err
	}
	r, err := store.Avatars(s.Store).Create(c.ctx(), c.claims.PartnerID, old.Body)
	return viewed(r, err, viewAgentHost)
}

// backgroundColor matches a color such as #1a2b3c, a color name, or "".
var backgroundColor = regexp.MustCompile(`^(?:#[0-9a-fA-F]{3,8}|[a-zA-Z]+)?$`)

// setAvatar applies fields to an avatar, and checks the result. A new visual removes the face
// and its background, a new face the visual.
func setAvatar(old store.Avatar, body fields) (store.Avatar, error) {
	visual, face := body.has("visual"), body.has("face")
	if visual && !face {
		old.Face, old.Background = nil, nil
	}
	if face && !visual {
		old.Visual = nil
	}
	a, err := overlay(old, store.Avatar{}, body)
	if err != nil {
		return a, err
	}
	switch {
	case a.Voice.ID == "":
		return a, missing("voice", "id")
	case a.Voice.Speed != nil && *a.Voice.Speed <= 0:
		return a, invalid("greater_than", "Input should be greater than 0", "voice", "speed")
	case a.Visual != nil && a.Face != nil:
		return a, invalid("value_error", "An avatar has a visual, or a face with a background", "face")
	case (a.Face == nil) != (a.Background == nil):
		return a, invalid("value_error", "A face and a background go together", "background")
	case a.Visual != nil && len(a.Visual.MotionControl) > 0 && a.Visual.MotionControl[0] != '{':
		return a, invalid("dict_type", "Input should be an object", "visual", "motionControl")
	}
	if a.Visual != nil {
		if _, err := a.Visual.Motion(); err != nil {
			return a, invalid("value_error", "speaking and nonSpeaking should be numbers from 0 to 1", "visual", "motionControl")
		}
	}
	if b := a.Background; b != nil {
		if err := oneOf(b.Type, []string{"color", "visual"}, "background", "type"); err != nil {
			return a, err
		}
		if b.Type == "color" && !backgroundColor.MatchString(b.Value) {
			return a, invalid("string_pattern_mismatch", "Input should be a color, as #1a2b3c", "background", "value")
		}
	}
	return a, nil
}

// checkAvatar gives a new avatar the picture of its template, which an update can't change.
func (s *server) checkAvatar(c *call, a, old *store.Avatar, body fields) error {
	if _, ok := body["templateId"]; ok && old != nil {
		return invalid("extra_forbidden", "The template of an avatar cannot be changed", "templateId")
	}
	if old != nil || a.TemplateID == "" {
		return nil
	}
	found, err := store.AvatarTemplates(s.Store).Usable(c.ctx(), c.claims.PartnerID, []string{a.TemplateID})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return titled("AVATAR_TEMPLATE_NOT_FOUND")
	}
	if t := found[0].Body; a.Visual == nil && a.Face == nil {
		a.Visual, a.Face, a.Background = t.Visual, t.Face, t.Background
	}
	return nil
}
