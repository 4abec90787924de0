-- How many seconds the hold still lasts that a control plane has. Zero rows: nobody has it.
select (julianday(held_until) - julianday('now')) * 86400.0 as seconds
from control_plane
where held_until >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
