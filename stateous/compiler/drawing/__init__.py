"""Pictures of a workflow: Mermaid for pages that draw it, SVG for everything else (docs/pictures.md)."""
