package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a format of uploads
	_ "image/png"  // the other one
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/audio"
	"github.com/agentruntime/agentruntime/internal/localservice/renderer"
	"github.com/agentruntime/agentruntime/internal/localservice/store"
)

// AssetPrefix is the path of pictures, clips and sound samples under the service's
// origin. Reading them needs no token, because pages show them.
const AssetPrefix = "/assets/"

const (
	catalogCreatePath = "/v1/catalog-item/create"
	catalogUpdatePath = "/v1/catalog-item/update"

	maxUpload   = 32 << 20 // bytes of a whole upload
	uploadInRAM = 1 << 20  // beyond that, a temporary file

	// minSample is the minimum length of a voice sample (service.md, Limits). Only that
	// of a WAV file is checked; the length of other formats is not known here.
	minSample = 6 * time.Second
)

// viewItem is a catalog item as clients see it.
func (s *server) viewItem(r *store.Record[store.CatalogItem]) any {
	more := map[string]any{"itemId": r.ID, "createdAt": r.CreatedAt, "updatedAt": r.UpdatedAt}
	switch r.Body.Type {
	case store.VoiceItem:
		if r.Body.AssetID != "" {
			more["voiceSampleUrl"] = s.Site() + AssetPrefix + r.Body.AssetID
		}
	case store.VisualItem:
		more["loadingVideo"] = s.loadingVideo(store.NearestFace(r.Body.Texts("visual")))
		fallthrough
	default:
		more["imageUrl"] = s.imageURL(r)
	}
	v := shown(r.Body, more)
	delete(v, "assetId")
	delete(v, "providerId")
	return v
}

// imageURL is the uploaded picture of an item, or a drawn one.
func (s *server) imageURL(r *store.Record[store.CatalogItem]) string {
	if r.Body.AssetID != "" {
		return s.Site() + AssetPrefix + r.Body.AssetID
	}
	return s.Site() + AssetPrefix + r.ID + drawing
}

func (s *server) catalogRoutes(mux routes) {
	s.manageAgentHost(mux, catalogCreatePath, s.catalogCreate)
	s.manageAgentHost(mux, "/v1/catalog-item/createVoiceFromProviderA", s.importVoice("VOICE_DOES_NOT_EXIST_ON_PROVIDER_A"))
	s.manageAgentHost(mux, "/v1/catalog-item/createVoiceFromProviderB", s.importVoice("VOICE_DOES_NOT_EXIST_ON_PROVIDER_B"))
	s.manageAgentHost(mux, "/v1/catalog-item/createVoiceFromElevenLabs", s.importVoice("VOICE_DOES_NOT_EXIST_ON_ELEVEN_LABS"))
	s.manageAgentHost(mux, "/v1/catalog-item/createVoiceFromCartesia", s.importVoice("VOICE_DOES_NOT_EXIST_ON_CARTESIA"))
	s.manageAgentHost(mux, catalogUpdatePath, s.catalogUpdate)
	s.catalog().reads(s.manageAgentHost, mux, "/v1/catalog-item")
	mux.HandleFunc("GET "+AssetPrefix+"{name}", s.asset)
}

// catalog is the items, which are created by uploads and imports.
func (s *server) catalog() *resource[store.CatalogItem] {
	unknown := exception("CATALOG_ITEM_NOT_FOUND", "CATALOG_ITEM_NOT_FOUND")
	return &resource[store.CatalogItem]{
		records: store.Catalog(s.Store), view: s.viewItem, key: "itemId", shared: true, query: catalogQuery, absent: unknown, unknown: unknown,
	}
}

// usableItem returns an item of that kind, of the partner or of all.
func (s *server) usableItem(c *call, kind, id string) (store.CatalogItem, error) {
	found, err := store.Catalog(s.Store).Usable(c.ctx(), c.claims.PartnerID, []string{id})
	if err != nil {
		return store.CatalogItem{}, err
	}
	if len(found) == 0 || found[0].Body.Type != kind {
		return store.CatalogItem{}, exception("CATALOG_ITEM_NOT_FOUND", "CATALOG_ITEM_NOT_FOUND: "+kind)
	}
	return found[0].Body, nil
}

// pictureItems are the types of items that are pictures.
var pictureItems = []string{store.VisualItem, store.FaceItem, store.BackgroundItem}

func catalogQuery(body *listQuery) (store.Query, error) {
	q := store.Query{Shared: true}
	var kind *string
	if err := cmp.Or(body.offset(&q), readFilter(body.Filter, "", conditions{"typeEqual": &kind})); err != nil || kind == nil {
		return q, err
	}
	q.Where = append(q.Where, store.Equals("type", *kind))
	return q, oneOf(*kind, slices.Concat(pictureItems, []string{store.VoiceItem}), "filter", "typeEqual")
}

// catalogCreate takes an upload: a voice if its type or its attributes name one, otherwise
// a picture, which is a visual unless it has another type (service.md, Catalog).
func (s *server) catalogCreate(c *call) (any, error) {
	if err := readForm(c.r); err != nil {
		return nil, err
	}
	defer c.r.MultipartForm.RemoveAll() //nolint:errcheck // temporary files
	in, err := formItem(c.r)
	if err != nil {
		return nil, err
	}
	item := store.CatalogItem{Type: c.r.FormValue("type"), AdminTags: []string{}}
	if err := in.set(&item); err != nil {
		return nil, err
	}
	if err := s.addFile(c, &item); err != nil {
		return nil, err
	}
	r, err := store.Catalog(s.Store).Create(c.ctx(), c.claims.PartnerID, item)
	if err != nil || r.Body.AssetID != item.AssetID { // a repeated request: the item has the file of the first one
		err = errors.Join(err, s.Store.DeleteAsset(context.WithoutCancel(c.ctx()), item.AssetID))
	}
	return viewed(r, err, s.viewItem)
}

// readForm reads an upload. Its files must be removed with RemoveAll.
func readForm(r *http.Request) error {
	err := r.ParseMultipartForm(uploadInRAM)
	if errors.Is(err, http.ErrNotMultipart) || errors.Is(err, http.ErrMissingBoundary) {
		return invalid("value_error", "Input should be multipart/form-data")
	}
	return err
}

// formFile opens the only file of that name in a form.
func formFile(r *http.Request, name string) (multipart.File, *multipart.FileHeader, error) {
	files := r.MultipartForm.File[name]
	if len(files) != 1 {
		return nil, nil, missing(name)
	}
	file, err := files[0].Open()
	return file, files[0], err
}

// itemInput is what a request sets of an item, besides its file.
type itemInput struct {
	ID         string                    `json:"itemId"`
	AdminTags  *[]string                 `json:"adminTags"`
	Attributes map[string]map[string]any `json:"attributes"`
}

// formItem reads it from a form, in which tags are a text with commas between them
// (management-api.md, F.4).
func formItem(r *http.Request) (in itemInput, err error) {
	in.ID = r.FormValue("itemId")
	if text := r.FormValue("adminTags"); text != "" {
		tags := strings.Split(text, ",")
		for i, tag := range tags {
			tags[i] = strings.TrimSpace(tag)
		}
		in.AdminTags = &tags
	}
	return in, unmarshal([]byte(r.FormValue("attributes")), &in.Attributes)
}

func (in *itemInput) set(item *store.CatalogItem) error {
	if in.AdminTags != nil {
		item.AdminTags = *in.AdminTags
	}
	item.SetAttributes(in.Attributes)
	return cmp.Or(checkRefs("adminTags", item.AdminTags), checkVoice(item))
}

// addFile stores the file of a form, and sets what the item has of it.
func (s *server) addFile(c *call, item *store.CatalogItem) error {
	file, _, err := formFile(c.r, "file")
	if err != nil {
		return err
	}
	defer file.Close()
	mediaType, err := checkUpload(item, file)
	if err != nil {
		return err
	}
	item.AssetID, err = s.Store.AddAsset(c.ctx(), mediaType, file)
	return err
}

// catalogUpdate changes the tags and attributes of an item of the partner's own, and with a
// form also its file. A preset is unknown to it.
func (s *server) catalogUpdate(c *call) (any, error) {
	if !strings.HasPrefix(c.r.Header.Get("Content-Type"), "multipart/") {
		return withBody(func(c *call, in itemInput) (any, error) { return s.changeItem(c, in, false) })(c)
	}
	if err := readForm(c.r); err != nil {
		return nil, err
	}
	defer c.r.MultipartForm.RemoveAll() //nolint:errcheck // temporary files
	in, err := formItem(c.r)
	if err != nil {
		return nil, err
	}
	return s.changeItem(c, in, len(c.r.MultipartForm.File["file"]) > 0)
}

func (s *server) changeItem(c *call, in itemInput, withFile bool) (any, error) {
	if in.ID == "" {
		return nil, missing("itemId")
	}
	added, unused := "", "" // files
	r, err := store.Catalog(s.Store).Update(c.ctx(), c.claims.PartnerID, in.ID, func(item *store.CatalogItem) error {
		err := in.set(item)
		if err != nil || !withFile {
			return err
		}
		unused, item.AssetID = item.AssetID, added
		if added == "" { // otherwise the item was changed meanwhile
			err = s.addFile(c, item)
			added = item.AssetID
		}
		return err
	})
	if err != nil { // the item has its old file
		unused = added
	}
	if unused != "" {
		err = errors.Join(err, s.Store.DeleteAsset(context.WithoutCancel(c.ctx()), unused))
	}
	return viewed(r, unknownItem(err), s.viewItem)
}

func unknownItem(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem(http.StatusNotFound, "CATALOG_ITEM_NOT_FOUND")
	}
	return err
}

// checkVoice refuses a voice without a name or a description.
func checkVoice(item *store.CatalogItem) error {
	if item.Type != store.VoiceItem {
		return nil
	}
	voice := item.Texts("voice")
	for _, name := range []string{"description", "name"} {
		if strings.TrimSpace(voice[name]) == "" {
			return missing("attributes", "voice", name)
		}
	}
	return nil
}

// sniffed is how many bytes of a file show its media type.
const sniffed = 512

// checkUpload detects the media type of a file, checks that it fits the item, and sets
// the item's type when it has none. It leaves the file at its start.
func checkUpload(item *store.CatalogItem, file io.ReadSeeker) (mediaType string, err error) {
	defer func() {
		if _, failed := file.Seek(0, io.SeekStart); err == nil {
			err = failed
		}
	}()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	head = head[:n]
	mediaType = http.DetectContentType(head)
	_, _, noPicture := image.DecodeConfig(io.MultiReader(bytes.NewReader(head), file))
	if _, isVoice := item.Attributes["voice"]; item.Type == "" && isVoice || item.Type == store.VoiceItem {
		item.Type = store.VoiceItem
		if noPicture == nil || strings.HasPrefix(mediaType, "text/") || strings.HasPrefix(mediaType, "image/") {
			return "", invalid("value_error", "The file should be sound", "file")
		}
		if err := checkVoice(item); err != nil {
			return "", err
		}
		return mediaType, checkSample(head, file)
	}
	item.Type = cmp.Or(item.Type, store.VisualItem)
	if err := oneOf(item.Type, pictureItems, "type"); err != nil {
		return "", err
	}
	if noPicture != nil {
		return "", invalid("value_error", "The file should be a JPEG or PNG picture; clips are not taken", "file")
	}
	return mediaType, nil
}

func checkSample(head []byte, file io.ReadSeeker) error {
	if !audio.IsWAV(head) {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	pcm, rate, err := audio.DecodeWAV(data)
	if err != nil {
		return invalid("value_error", "The file cannot be read", "file")
	}
	if length := audio.Duration(len(pcm), rate); length < minSample {
		return invalid("value_error", fmt.Sprintf("The sample should be longer than %s", minSample), "file")
	}
	return nil
}

// providerVoices are the simulated voices of both providers.
var providerVoices = map[string]string{"demo-voice-1": "Deep", "demo-voice-2": "Bright"}

// importVoice makes a catalog item from a provider's voice. unknown is the error code for
// a voice that the provider does not have.
func (s *server) importVoice(unknown string) func(*call) (any, error) {
	return withBody(func(c *call, body struct {
		VoiceID string `json:"voiceId"`
	},
	) (any, error) {
		if body.VoiceID == "" {
			return nil, missing("voiceId")
		}
		name, ok := providerVoices[body.VoiceID]
		if !ok {
			return nil, exception(unknown, unknown)
		}
		r, err := store.Catalog(s.Store).Create(c.ctx(), c.claims.PartnerID, store.CatalogItem{
			Type: store.VoiceItem, AdminTags: []string{"custom"}, ProviderID: body.VoiceID,
			Attributes: map[string]map[string]any{"voice": {"name": name, "description": "Imported.", "language": "en"}},
		})
		return viewed(r, err, s.viewItem)
	})
}

// Suffixes of names under AssetPrefix that are not uploads: the film of a face, and the picture of a visual, of the face that is shown for it.
const (
	loading = ".webm"
	drawing = ".png"
)

// loadingVideo is the address of the film of a face, by its name.
func (s *server) loadingVideo(face string) string {
	return s.Site() + AssetPrefix + strings.ToLower(face) + loading
}

// asset serves a file of the catalog.
func (s *server) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	mediaType, file, err := s.readAsset(r.Context(), name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
	h.Set("Cache-Control", "max-age=3600")
	http.ServeContent(w, r, "", time.Time{}, file)
}

func (s *server) readAsset(ctx context.Context, name string) (mediaType string, file io.ReadSeeker, err error) {
	if face, film := strings.CutSuffix(name, loading); film && renderer.FaceNamed(face).String() == face {
		return "video/webm", bytes.NewReader(renderer.Preview(renderer.FaceNamed(face))), nil
	}
	id, drawn := strings.CutSuffix(name, drawing)
	if !drawn {
		return s.Store.Asset(ctx, name)
	}
	item, err := store.Catalog(s.Store).Get(ctx, store.SharedPartner, id)
	if err != nil {
		return "", nil, err
	}
	face := renderer.FaceNamed(strings.ToLower(store.NearestFace(item.Body.Texts("visual"))))
	return "image/png", bytes.NewReader(renderer.Still(face)), nil
}

// avatarPreviews are the previews of an agent's avatars.
func (s *server) avatarPreviews(c *call, ids []string) ([]avatar, error) {
	list := []avatar{}
	avatars, err := store.Avatars(s.Store).Usable(c.ctx(), c.claims.PartnerID, ids)
	if err != nil {
		return nil, err
	}
	for _, a := range avatars {
		var itemIDs []string
		switch {
		case a.Body.Visual != nil:
			itemIDs = []string{a.Body.Visual.ID}
		case a.Body.Face != nil:
			itemIDs = []string{a.Body.Face.ID}
		}
		items, err := store.Catalog(s.Store).Usable(c.ctx(), c.claims.PartnerID, itemIDs)
		if err != nil {
			return nil, err
		}
		preview := avatar{ID: a.ID, ObjectType: "Object"}
		looks := map[string]string{}
		if len(items) > 0 {
			preview.PreviewImageURL, looks = s.imageURL(&items[0]), items[0].Body.Texts("visual")
		}
		preview.LoadingVideoURL = s.loadingVideo(store.NearestFace(looks))
		list = append(list, preview)
	}
	return list, nil
}
