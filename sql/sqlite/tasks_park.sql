-- Parks or unparks the queued tasks of tokens whose pause began or ended; they come as a JSON list. It answers
-- no rows.
update tasks set parked = :parked
where id in (select value from json_each(:tasks)) and status = 'queued' and parked <> :parked
