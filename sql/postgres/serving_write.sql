-- Puts on record who serves. Zero rows: another control plane has raised the epoch.
update control_plane set serving = :serving where epoch = :epoch returning epoch
