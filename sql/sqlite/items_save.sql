-- Writes items, new ones too: nothing is made before they are decided. One row for each.
insert into items (scope, place, entity, item, status, data, reason, task, attempt, token, seq, locked_until, changed_at,
                   expires_at)
select r.value ->> 'scope', r.value ->> 'place', r.value ->> 'entity', r.value ->> 'item', r.value ->> 'status',
       r.value ->> 'data', r.value ->> 'reason', r.value ->> 'task', r.value ->> 'attempt', r.value ->> 'token',
       r.value ->> 'seq', r.value ->> 'locked_until', r.value ->> 'changed_at', r.value ->> 'expires_at'
from json_each(:rows) as r where true
on conflict (scope, place, entity, item) do update set
    status = excluded.status, data = excluded.data, reason = excluded.reason, task = excluded.task,
    attempt = excluded.attempt, token = excluded.token, seq = excluded.seq, locked_until = excluded.locked_until,
    changed_at = excluded.changed_at, expires_at = excluded.expires_at
returning 1 as written
