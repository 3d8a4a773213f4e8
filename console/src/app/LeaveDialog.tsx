import { useStore } from '../api/store';
import { Dialog } from '../ui/Dialog';
import { leavingFor, unsaved } from './leaving';

/** Asks whether to go, where something would be lost by it. */
export function LeaveDialog() {
  const go = useStore(leavingFor);
  const stay = () => leavingFor.set(null);
  return (
    <Dialog open={go !== null} close={stay} title="Leave without saving?">
      <p>{useStore(unsaved)}</p>
      <footer>
        <button type="button" className="button" onClick={stay}>
          Stay here
        </button>
        <button
          type="button"
          className="button primary"
          onClick={() => {
            unsaved.set(null);
            stay();
            go?.();
          }}
        >
          Leave without saving
        </button>
      </footer>
    </Dialog>
  );
}
