-- Adds timers. An id that is taken is an error; it answers no rows.
insert into timers (id, token, state, visit, event, payload, kind, status, parked,
                        set_at, due_at, step)
select r.id, r.token, r.state, r.visit, r.event, r.payload::json, r.kind, r.status,
           r.parked, r.set_at, r.due_at, r.step
from json_to_recordset(:rows) as r(
        id bigint, token text, state text, visit bigint, event text, payload text, kind text,
        status text, parked boolean, set_at timestamptz, due_at timestamptz, step text)
order by r.id
