-- Parks or unparks the pending timers of tokens whose pause began or ended; they come as a JSON list. It answers
-- no rows.
update timers set parked = :parked
where token in (select value from json_each(:tokens)) and status = 'pending' and parked <> :parked
