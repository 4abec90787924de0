-- Parks or unparks the pending timers of tokens whose pause began or ended. It answers no rows.
update timers k set parked = :parked
where k.token = any(:tokens::text[]) and k.status = 'pending' and k.parked <> :parked
