-- Reads items by their keys. A missing row: nobody knows it.
select i.scope, i.place, i.entity, i.item, i.status, i.data, i.reason, i.task, i.attempt, i.token, i.seq,
       i.locked_until, i.changed_at, i.expires_at
from json_to_recordset(:rows) as r(scope smallint, place text, entity text, item text)
cross join lateral (
    select n.scope, n.place, n.entity, n.item, n.status, n.data::text as data, n.reason, n.task, n.attempt, n.token,
           n.seq, n.locked_until, n.changed_at, n.expires_at
    from items n
    where n.scope = r.scope and n.place = r.place and n.entity = r.entity and n.item = r.item and n.status <> 'none'
    limit 1
) i
