package api

import (
	"errors"
	"net/http"
	"regexp"
	"time"

	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// avatarView is an avatar as clients see it.
type avatarView struct {
	ID string `json:"id"`
	store.Avatar
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

func viewAvatar(r *store.Record[store.Avatar]) avatarView {
	return avatarView{r.ID, r.Body, r.CreatedAt, r.UpdatedAt}
}

// templateView is a template as clients see it.
type templateView struct {
	ID string `json:"id"`
	store.AvatarTemplate
}

func viewTemplate(r *store.Record[store.AvatarTemplate]) templateView {
	return templateView{r.ID, r.Body}
}

func (s *server) avatarRoutes(mux *http.ServeMux) {
	s.manageAgentHost(mux, "/v1/avatar/create", withBody(s.avatarCreate))
	s.manageAgentHost(mux, "/v1/avatar/update", withBody(s.avatarUpdate))
	s.manageAgentHost(mux, "/v1/avatar/clone", withBody(s.avatarClone))
	s.manageAgentHost(mux, "/v1/avatar/list", withBody(func(c *call, body listQuery) (any, error) {
		var q store.Query
		if err := errors.Join(body.offset(&q), newFilter(body.Filter, "").done()); err != nil {
			return nil, err
		}
		list, total, err := s.Store.Avatars().List(c.ctx(), c.claims.PartnerID, q)
		return listed(list, total, err, viewAvatar)
	}))
	s.manageAgentHost(mux, "/v1/avatar/get", withBody(func(c *call, body idRequest) (any, error) {
		return aboutAvatar(body.ID, func() (any, error) {
			r, err := s.Store.Avatars().Get(c.ctx(), c.claims.PartnerID, body.ID)
			return viewed(r, err, viewAvatar)
		})
	}))
	s.manageAgentHost(mux, "/v1/avatar/delete", withBody(func(c *call, body idRequest) (any, error) {
		return aboutAvatar(body.ID, func() (any, error) {
			return body, s.Store.Avatars().Delete(c.ctx(), c.claims.PartnerID, body.ID)
		})
	}))
	s.manageAgentHost(mux, "/v1/avatar-template/list", withBody(func(c *call, body listQuery) (any, error) {
		q := store.Query{Shared: true}
		f := newFilter(body.Filter, "")
		q.IDs = f.list("idsIn")
		if err := errors.Join(body.offset(&q), f.done()); err != nil {
			return nil, err
		}
		list, total, err := s.Store.AvatarTemplates().List(c.ctx(), c.claims.PartnerID, q)
		return listed(list, total, err, viewTemplate)
	}))
}

// aboutAvatar refuses an id of the wrong form. An unknown avatar, and a body without an
// id, are reported by the title AVATAR_NOT_FOUND (service.md, Avatars).
func aboutAvatar(id string, handle func() (any, error)) (any, error) {
	if id != "" && !avatarID.MatchString(id) {
		return nil, invalid("string_pattern_mismatch", "String should be 24 hexadecimal digits", "id")
	}
	reply, err := handle()
	if errors.Is(err, store.ErrNotFound) {
		err = titled("AVATAR_NOT_FOUND")
	}
	return reply, err
}

func (s *server) avatarCreate(c *call, body fields) (any, error) {
	if err := body.need("voice"); err != nil {
		return nil, err
	}
	avatar, err := s.setAvatar(c, store.Avatar{}, body)
	if err != nil {
		return nil, err
	}
	if avatar.TemplateID != "" {
		found, err := s.Store.AvatarTemplates().Usable(c.ctx(), c.claims.PartnerID, []string{avatar.TemplateID})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, titled("AVATAR_TEMPLATE_NOT_FOUND")
		}
		if t := found[0].Body; avatar.Visual == nil && avatar.Face == nil {
			avatar.Visual, avatar.Face, avatar.Background = t.Visual, t.Face, t.Background
		}
	}
	r, err := s.Store.Avatars().Create(c.ctx(), c.claims.PartnerID, avatar)
	return viewed(r, err, viewAvatar)
}

func (s *server) avatarUpdate(c *call, body fields) (any, error) {
	var id string
	if err := body.take("id", &id); err != nil {
		return nil, err
	}
	if _, ok := body["templateId"]; ok {
		return nil, invalid("extra_forbidden", "The template of an avatar cannot be changed", "templateId")
	}
	return aboutAvatar(id, func() (any, error) {
		old, err := s.Store.Avatars().Get(c.ctx(), c.claims.PartnerID, id)
		if err != nil {
			return nil, err
		}
		if _, err := s.setAvatar(c, old.Body, body); err != nil { // outside the transaction: it reads other records
			return nil, err
		}
		r, err := s.Store.Avatars().Update(c.ctx(), c.claims.PartnerID, id, func(a *store.Avatar) (err error) {
			*a, err = overlayAvatar(*a, body)
			return err
		})
		return viewed(r, err, viewAvatar)
	})
}

// avatarClone makes a copy of an avatar.
func (s *server) avatarClone(c *call, body idRequest) (any, error) {
	return aboutAvatar(body.ID, func() (any, error) {
		old, err := s.Store.Avatars().Get(c.ctx(), c.claims.PartnerID, body.ID)
		if err != nil {
			return nil, err
		}
		r, err := s.Store.Avatars().Create(c.ctx(), c.claims.PartnerID, old.Body)
		return viewed(r, err, viewAvatar)
	})
}

// overlayAvatar applies fields to an avatar. A new visual removes the face and its
// background, a new face the visual.
func overlayAvatar(old store.Avatar, body fields) (store.Avatar, error) {
	if body["visual"] != nil && body["face"] == nil {
		old.Face, old.Background = nil, nil
	}
	if body["face"] != nil && body["visual"] == nil {
		old.Visual = nil
	}
	return overlay(old, store.Avatar{}, body)
}

// backgroundColor matches a color such as #1a2b3c, a color name, or "".
var backgroundColor = regexp.MustCompile(`^(?:#[0-9a-fA-F]{3,8}|[a-zA-Z]+)?$`)

// setAvatar applies fields to an avatar, and checks the result and the items that it
// refers to.
func (s *server) setAvatar(c *call, old store.Avatar, body fields) (store.Avatar, error) {
	a, err := overlayAvatar(old, body)
	if err != nil {
		return a, err
	}
	refs := map[string]string{}
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
	refs[a.Voice.ID] = store.VoiceItem
	if a.Visual != nil {
		if _, err := a.Visual.Motion(); err != nil {
			return a, invalid("value_error", "speaking and nonSpeaking should be numbers from 0 to 1", "visual", "motionControl")
		}
		refs[a.Visual.ID] = store.VisualItem
	}
	if a.Face != nil {
		refs[a.Face.ID] = store.FaceItem
	}
	if b := a.Background; b != nil {
		if err := oneOf("background.type", b.Type, "color", "visual"); err != nil {
			return a, err
		}
		if b.Type == "color" && !backgroundColor.MatchString(b.Value) {
			return a, invalid("string_pattern_mismatch", "Input should be a color, as #1a2b3c", "background", "value")
		}
		if b.Type == "visual" {
			refs[b.Value] = store.BackgroundItem
		}
	}
	for id, kind := range refs {
		found, err := s.Store.Catalog().Usable(c.ctx(), c.claims.PartnerID, []string{id})
		if err != nil {
			return a, err
		}
		if len(found) == 0 || found[0].Body.Type != kind {
			return a, exception("CATALOG_ITEM_NOT_FOUND", "CATALOG_ITEM_NOT_FOUND: "+kind)
		}
	}
	return a, nil
}
