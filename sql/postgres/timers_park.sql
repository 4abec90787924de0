-- Parks or unparks the pending timers of tokens whose pause began or ended. It answers no rows.
update timers k set parked = r.parked
from json_to_recordset(:rows) as r(token text, task bigint, parked boolean)
where k.token = r.token and k.status = 'pending' and k.parked <> r.parked
