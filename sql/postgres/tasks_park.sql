-- Parks or unparks the queued tasks of tokens whose pause began or ended. It answers no rows.
update tasks k set parked = :parked
where k.id = any(:tasks::bigint[]) and k.status = 'queued' and k.parked <> :parked
