-- Parks or unparks the queued tasks of tokens whose pause began or ended. It answers no rows.
update tasks k set parked = r.parked
from json_to_recordset(:rows) as r(token text, task bigint, parked boolean)
where k.id = r.task and k.status = 'queued' and k.parked <> r.parked
