-- Writes timers. Fewer rows than asked: one is missing, and nothing may be committed.
update timers as t set
    status = r.status, parked = r.parked, due_at = r.due_at
from (
    select value ->> 'id' as id, value ->> 'status' as status, value ->> 'parked' as parked,
           value ->> 'due_at' as due_at
    from json_each(:rows)
) as r
where t.id = r.id
returning 1 as written
