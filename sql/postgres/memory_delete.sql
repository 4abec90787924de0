-- Removes single memory keys. It answers no rows; a key that is not there is passed over.
delete from memory m
using json_to_recordset(:rows) as r(token text, state text, key text)
where m.token = r.token and m.state = r.state and m.key = r.key
