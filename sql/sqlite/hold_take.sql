-- Takes the right to serve for a while when nobody has it, and raises the epoch: whoever still writes
-- with the old one is refused from now on. `lapse` is in SQLite's words, such as +30.000 seconds.
-- Zero rows: another control plane has it.
update control_plane
set epoch = epoch + 1, held_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', :lapse)
where held_until is null or held_until < strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
returning epoch
