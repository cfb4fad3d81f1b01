package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func agents() *cli.Command {
	name, intellect := textFlag("name", "the agent's `name`"), numberFlag("intellect", "`number` of the intellect")
	avatar, tag := listFlag("avatar", "`id` of an avatar"), listFlag("tag", "admin `tag`")
	newAvatar, newTag := listFlag("avatar", "`id` of an avatar, in place of those that it has"), listFlag("tag", "admin `tag`, in place of those that it has")
	file := textFlag("file", "JSON `file` with its fields")
	return group("agents", "builds agents of intellects and avatars",
		command("list", "", "lists the account's agents", func(ctx context.Context, c *call, _ []string) error {
			return printList(c, c.Agents.List(ctx, management.AgentFilter{
				SearchValue: c.flags.String("search"), AdminTagsIn: c.list("tag"), OrderBy: c.flags.String("order"),
			}),
				column[management.Agent]{"AGENT", func(a *management.Agent) string { return a.ID }},
				column[management.Agent]{"NAME", func(a *management.Agent) string { return a.DisplayName }},
				column[management.Agent]{"INTELLECT", func(a *management.Agent) string { return fmt.Sprint(a.Intellect.ID) }},
				column[management.Agent]{"TAGS", func(a *management.Agent) string { return strings.Join(a.AdminTags, ",") }},
				column[management.Agent]{"UPDATED", func(a *management.Agent) string { return string(a.UpdatedAt) }},
			)
		},
			textFlag("search", "`part` of the name or the id"),
			listFlag("tag", "admin `tag` that they have; of several, at least one"),
			textFlag("order", "`field` to sort by: +createdAt, -createdAt, +updatedAt or -updatedAt"),
		),
		command("get", "ID", "shows an agent", func(ctx context.Context, c *call, args []string) error {
			a, err := c.Agents.Get(ctx, args[0])
			return printRecord(c, a, err)
		}),
		command("create", "", "makes an agent of an intellect and avatars", func(ctx context.Context, c *call, _ []string) error {
			var in management.AgentInput
			if err := readFields(c.flags.String("file"), "an agent", &in); err != nil {
				return err
			}
			if name := c.text("name"); name != nil {
				in.DisplayName = *name
			}
			if c.flags.IsSet("intellect") {
				in.Intellect.ID = c.flags.Int64("intellect")
			}
			in.AvatarIDs, in.AdminTags = append(in.AvatarIDs, c.list("avatar")...), append(in.AdminTags, c.list("tag")...)
			a, err := c.Agents.Create(ctx, in)
			return printRecord(c, a, err)
		}, name, intellect, avatar, tag, file),
		command("update", "ID", "changes what the flags and the file name", func(ctx context.Context, c *call, args []string) error {
			var patch management.AgentPatch
			if err := readFields(c.flags.String("file"), "an agent", &patch); err != nil {
				return err
			}
			if name := c.text("name"); name != nil {
				patch.DisplayName = name
			}
			if c.flags.IsSet("intellect") {
				patch.Intellect = &management.IntellectRef{ID: c.flags.Int64("intellect")}
			}
			if ids := c.list("avatar"); ids != nil {
				patch.AvatarIDs = ids
			}
			if tags := c.list("tag"); tags != nil {
				patch.AdminTags = tags
			}
			a, err := c.Agents.Update(ctx, args[0], patch)
			return printRecord(c, a, err)
		}, name, intellect, newAvatar, newTag, file),
		command("widget", "ID", "prints the widget id with which a page shows the agent", func(ctx context.Context, c *call, args []string) error {
			id, err := c.Application.ResolveWidgetID(ctx, args[0])
			if err != nil || c.json {
				return printRecord(c, map[string]string{"agentId": args[0], "widgetId": id}, err)
			}
			return printText(c, id)
		}),
		removal("ID", "deletes an agent, not its avatars and its intellect", func(ctx context.Context, c *call, args []string, opts []management.Option) error {
			return printDone(c, "deleted agent "+args[0], c.Agents.Delete(ctx, args[0], opts...))
		}, allowProtected),
	)
}

func avatars() *cli.Command {
	return records[management.Avatar, management.AvatarInput, management.AvatarPatch, string]{
		name: "avatars", about: "makes avatars of voices and faces", one: "an avatar",
		columns: []column[management.Avatar]{
			{"AVATAR", func(a *management.Avatar) string { return a.ID }},
			{"NAME", func(a *management.Avatar) string { return a.Name }},
			{"VOICE", func(a *management.Avatar) string { return a.Voice.ID }},
		},
		of:     func(c *call) resource[management.Avatar, management.AvatarPatch, string] { return c.Avatars },
		making: "makes an avatar of a voice and a visual of the catalog",
		flags: []cli.Flag{
			textFlag("name", "the avatar's `name`"), textFlag("voice", "`itemId` of a voice"), textFlag("visual", "`itemId` of a visual"),
		},
		create: func(c *call, ctx context.Context, in management.AvatarInput) (*management.Avatar, error) {
			if name := c.text("name"); name != nil {
				in.Name = *name
			}
			if voice := c.text("voice"); voice != nil {
				in.Voice.ID = *voice
			}
			if visual := c.text("visual"); visual != nil {
				in.Visual = &management.AvatarVisual{ID: *visual}
			}
			return c.Avatars.Create(ctx, in)
		},
	}.group(
		command("catalog", "", "lists the voices and visuals that avatars can have", func(ctx context.Context, c *call, _ []string) error {
			return printList(c, c.Catalog.List(ctx, management.CatalogFilter{Type: management.CatalogType(c.flags.String("type"))}),
				column[management.CatalogItem]{"ITEM", func(i *management.CatalogItem) string { return i.ID }},
				column[management.CatalogItem]{"TYPE", func(i *management.CatalogItem) string { return string(i.Type) }},
				column[management.CatalogItem]{"TAGS", func(i *management.CatalogItem) string { return strings.Join(i.AdminTags, ",") }},
			)
		}, textFlag("type", "`kind`: Voice, Visual, Face or Background")),
	)
}
