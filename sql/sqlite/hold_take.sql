-- Takes the right to serve for 30 seconds when nobody has it, and raises the epoch: whoever still writes
-- with the old one is refused from now on. Zero rows: another control plane has it.
update control_plane
set epoch = epoch + 1, held_until = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+30 seconds')
where held_until is null or held_until < strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
returning epoch
