-- Reads items by their keys. A missing row: nobody knows it.
select i.scope, i.place, i.entity, i.item, i.status, i.data, i.reason, i.task, i.attempt, i.token, i.seq, i.locked_until, i.changed_at, i.expires_at
from json_each(:rows) as r
cross join items i on i.scope = r.value ->> 'scope' and i.place = r.value ->> 'place'
    and i.entity = r.value ->> 'entity' and i.item = r.value ->> 'item'
