-- Keeps the right to serve for another 30 seconds. Zero rows: another control plane has raised the epoch.
update control_plane
set held_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+30 seconds')
where epoch = :epoch
returning epoch
