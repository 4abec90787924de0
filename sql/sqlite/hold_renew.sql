-- Keeps the right to serve for another while; `lapse` is in SQLite's words, such as +30.000 seconds.
-- Zero rows: another control plane has raised the epoch.
update control_plane
set held_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', :lapse)
where epoch = :epoch
returning epoch
