-- Adds held events. An arrival that is taken is an error; it answers no rows.
insert into held (root, arrival, token, event, payload, key, task, state, visit,
                        context, schedules)
select r.root, r.arrival, r.token, r.event, r.payload::json, r.key, r.task, r.state,
           r.visit, r.context::json, r.schedules::json
from json_to_recordset(:rows) as r(
        root text, arrival bigint, token text, event text, payload text, key text,
        task bigint, state text, visit bigint, context text, schedules text)
order by r.root, r.arrival
